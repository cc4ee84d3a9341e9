// The part of Metal that the device uses, declared after its documentation, for the double.
#pragma once

#import <Metal/MTLArgument.h>
#import <Metal/MTLBinaryArchive.h>
#import <Metal/MTLBuffer.h>
#import <Metal/MTLCaptureManager.h>
#import <Metal/MTLCommandBuffer.h>
#import <Metal/MTLCommandEncoder.h>
#import <Metal/MTLCommandQueue.h>
#import <Metal/MTLComputeCommandEncoder.h>
#import <Metal/MTLComputePass.h>
#import <Metal/MTLComputePipeline.h>
#import <Metal/MTLCounters.h>
#import <Metal/MTLDevice.h>
#import <Metal/MTLFence.h>
#import <Metal/MTLFunctionConstantValues.h>
#import <Metal/MTLLibrary.h>
#import <Metal/MTLPixelFormat.h>
#import <Metal/MTLResource.h>
#import <Metal/MTLSampler.h>
#import <Metal/MTLTexture.h>
#import <Metal/MTLTypes.h>
